"""Tables for the terminal and as JSON, HTML pages, and the account in Markdown."""
