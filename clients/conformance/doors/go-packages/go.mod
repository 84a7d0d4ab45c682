module removebg

go 1.21

require github.com/remove-bg/go v1.3.1

require github.com/bmatcuk/doublestar v1.3.4 // indirect
