"""A conversation that lasts: session, settings, backends, journal, trust and forecast. It has no screen."""
