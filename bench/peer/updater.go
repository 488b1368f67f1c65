package main

import "errors"

func plan(_, _ string) (answer, error) { return answer{}, errors.New("later") }
