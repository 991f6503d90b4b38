"""The play page as a static site: rules, scripted partners and page in plain JavaScript, in one file."""
