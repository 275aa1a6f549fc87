"""What people and scripts see: terminal, plain lines, JSON. No decision is taken here."""
