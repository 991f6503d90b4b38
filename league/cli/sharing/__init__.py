"""The commands that hand things on: runs as tables or as folders for a hub, files that the package ships."""
