package main

import (
	"encoding/json"
	"maps"
	"math"

	"github.com/anishathalye/porcupine"
)

type transaction struct {
	Session  int
	Outcome  string
	CallNs   int64 `json:"call_ns"`
	ReturnNs int64 `json:"return_ns"`
	Ops      [][]any
}

// Each key's list, as JSON prints it: what was read is compared as text.
type state map[string]string

func text(value any) string {
	bytes, err := json.Marshal(value)
	if err != nil {
		panic(err) // It came from JSON.
	}
	return string(bytes)
}

func listOf(now state, key string) string {
	if list, found := now[key]; found {
		return list
	}
	return "[]"
}

// All lists are empty at first. A transaction runs alone, and must read what is there.
var lists = porcupine.Model{
	Init: func() interface{} { return state{} },
	Step: func(before, in, _ interface{}) (bool, interface{}) {
		now := maps.Clone(before.(state))
		for _, op := range in.(transaction).Ops {
			key, list := text(op[1]), listOf(now, text(op[1]))
			switch {
			case op[0] == "append" && list == "[]":
				now[key] = "[" + text(op[2]) + "]"
			case op[0] == "append":
				now[key] = list[:len(list)-1] + "," + text(op[2]) + "]"
			case len(op) > 2 && op[2] != nil && text(op[2]) != list:
				return false, before
			}
		}
		return true, now
	},
	Equal: func(one, other interface{}) bool { return maps.Equal(one.(state), other.(state)) },
}

// Failed transactions are left out. One of unknown outcome never returns, and what it read does not count.
func listsOperation(bytes []byte) (*porcupine.Operation, error) {
	var one transaction
	if err := json.Unmarshal(bytes, &one); err != nil || one.Outcome == "fail" {
		return nil, err
	}
	if one.Outcome == "unknown" {
		one.ReturnNs = math.MaxInt64
		appends := [][]any{}
		for _, op := range one.Ops {
			if op[0] == "append" {
				appends = append(appends, op)
			}
		}
		one.Ops = appends
	}
	return &porcupine.Operation{ClientId: one.Session, Input: one, Call: one.CallNs, Return: one.ReturnNs}, nil
}
