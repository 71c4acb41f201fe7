"""dynolog's remote calls, so that its command line and scripts work with this agent."""
