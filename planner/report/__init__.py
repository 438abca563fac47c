"""What people look at: summaries, tables and pictures of a plan."""
