"""The pages of a study: plain forms that work without a script, served to its participants."""
