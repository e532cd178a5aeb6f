"""Draw names, ids and addresses for the generators, and mix special lines into ordinary ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random

SERVICES = ["billing", "checkout", "inventory", "shipping", "catalog", "identity", "pricing", "returns", "loyalty"]
PEOPLE = [
    "amara",
    "bjorn",
    "chiara",
    "dmitri",
    "elif",
    "farah",
    "goran",
    "hanna",
    "ivo",
    "jun",
    "kofi",
    "lena",
    "mateo",
]
FAMILY = ["Okafor", "Lindqvist", "Moretti", "Petrov", "Demir", "Haddad", "Kovac", "Weber", "Novak", "Sato", "Mensah"]
CITIES = ["Lyon", "Porto", "Graz", "Leeds", "Turku", "Gdansk", "Brno", "Ghent", "Malmo", "Trieste", "Bergen", "Cork"]
THINGS = ["anchor", "basket", "cedar", "delta", "ember", "falcon", "garnet", "harbor", "indigo", "juniper", "kestrel"]
MORE = ["lantern", "meadow", "nickel", "orchid", "pebble", "quartz", "raven", "saffron", "timber", "umber", "walnut"]


def hexes(random: Random, length: int) -> str:
    """This many random hexadecimal digits."""
    return f"{random.getrandbits(4 * length):0{length}x}"


def address(random: Random) -> str:
    """A random address in a private network."""
    return f"10.{random.randint(1, 99)}.{random.randint(0, 255)}.{random.randint(2, 254)}"


def moments(random: Random, most_seconds: float) -> Iterator[datetime]:
    """Moments of one day, each at most `most_seconds` after the previous one."""
    now = datetime(2026, random.randint(1, 12), random.randint(1, 28), random.randint(1, 15), random.randint(0, 59))
    while True:
        now += timedelta(seconds=random.uniform(0.01, most_seconds))
        yield now


def scattered(random: Random, ordinary: Sequence[str], *special: str) -> list[str]:
    """Insert the special lines between the ordinary ones, in this order and away from both ends."""
    places = sorted(random.sample(range(4, len(ordinary) - 4), len(special)))
    lines = list(ordinary)
    for place, one in zip(reversed(places), reversed(special), strict=True):
        lines.insert(place, one)
    return lines


def shuffled(random: Random, ordinary: Sequence[str], *special: str) -> list[str]:
    """Like `scattered`, with the special lines in random order."""
    return scattered(random, ordinary, *random.sample(special, len(special)))
