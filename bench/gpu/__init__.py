"""What GPUs cost the agent, and what the agent costs their driver."""
