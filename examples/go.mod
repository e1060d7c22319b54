module github.com/kinform/kinform/examples

go 1.26.0
