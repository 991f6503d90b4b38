"""Language models behind HTTP: the Groq and OpenAI-compatible clients, their retries and rate limits."""
