"""Headless displays of jobs: rich on a terminal, JSON lines otherwise. They take events and never see a job."""
