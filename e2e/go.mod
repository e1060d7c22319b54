module github.com/kinform/kinform/e2e

go 1.26.0
