module quorate.test/steward

go 1.26.0
