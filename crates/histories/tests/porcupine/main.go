// Reads histories of registers, as bakeoff exports them for Porcupine, and says of each whether it is linearizable:
// "FILE Ok", "FILE Illegal", or "FILE Unknown" where 20 s were not enough. After "lists" it reads bakeoff's own lines instead, of
// transactions that append to lists and read them: those are strictly serializable if each, whole, is one operation of one object.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/anishathalye/porcupine"
)

type input struct {
	Op    string
	Key   uint64
	Value int64
}

type output struct{ Value *int64 }

type line struct {
	ClientId int
	Input    input
	Call     int64
	Output   output
	Return   int64
}

// A key is 0 before anybody writes it.
var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		keys := map[uint64][]porcupine.Operation{}
		for _, operation := range history {
			key := operation.Input.(input).Key
			keys[key] = append(keys[key], operation)
		}
		parts := [][]porcupine.Operation{}
		for _, part := range keys {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() interface{} { return int64(0) },
	Step: func(state, in, out interface{}) (bool, interface{}) {
		if in.(input).Op == "write" {
			return true, in.(input).Value
		}
		read := int64(0)
		if value := out.(output).Value; value != nil {
			read = *value
		}
		return read == state.(int64), state
	},
}

func registerOperation(bytes []byte) (*porcupine.Operation, error) {
	var one line
	err := json.Unmarshal(bytes, &one)
	return &porcupine.Operation{
		ClientId: one.ClientId, Input: one.Input, Call: one.Call, Output: one.Output, Return: one.Return,
	}, err
}

// A line's operation is nil where it does not count.
func read(path string, operation func([]byte) (*porcupine.Operation, error)) ([]porcupine.Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	history := []porcupine.Operation{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		one, err := operation(lines.Bytes())
		if err != nil {
			return nil, err
		}
		if one != nil {
			history = append(history, *one)
		}
	}
	return history, lines.Err()
}

func main() {
	model, operation, paths := registers, registerOperation, os.Args[1:]
	if paths[0] == "lists" {
		model, operation, paths = lists, listsOperation, paths[1:]
	}
	for _, path := range paths {
		history, err := read(path, operation)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(1)
		}
		fmt.Println(path, porcupine.CheckOperationsTimeout(model, history, 20*time.Second))
	}
}
