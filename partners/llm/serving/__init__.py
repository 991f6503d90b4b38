"""Our occupants behind OpenAI's protocol: a prompt that our template wrote is read, and answered by one legal line."""
