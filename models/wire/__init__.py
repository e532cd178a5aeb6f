"""What every model server needs: addresses, HTTP, retries, tool calls and thinking."""
