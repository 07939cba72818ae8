# plugins - thin translators between Slurm and policyd/wire
