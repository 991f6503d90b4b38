"""Language models on this machine: a Hugging Face model whose decoding is held to the legal lines."""
