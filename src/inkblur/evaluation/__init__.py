"""How private and how useful a release is: statistics, audits, attacks, utility."""
