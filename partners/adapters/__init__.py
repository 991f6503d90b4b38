"""The game for libraries that train and test language models: TRL, verifiers, OpenEnv, TextArena, Inspect."""
