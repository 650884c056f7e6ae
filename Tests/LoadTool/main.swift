// `make bench`: what the cluster costs and how fast it is, measured from outside with real processes.

await LoadCommand.main()
