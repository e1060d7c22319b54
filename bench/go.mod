module github.com/kinform/kinform/bench

go 1.26.0
