// The budget of gRPC messages that have not arrived whole leaves room for other connections.

import { expect, test } from 'vitest'
import { createMetrics } from '../../../src/ops/admin/metrics.js'
import { createMessageBudget } from '../../../src/ops/memory/message-budget.js'
import { HeldMessages } from '../../../src/wire/grpc/message-budget.js'

const MIB = 1024 * 1024

test('one connection holds at most half of it, and others the rest', () => {
  const budget = createMessageBudget(200 * MIB, createMetrics())
  const [greedy, honest] = [new HeldMessages(budget), new HeldMessages(budget)]
  expect([greedy.add(100 * MIB), greedy.add(1)]).toEqual([true, false])
  expect([honest.add(100 * MIB), honest.add(1)]).toEqual([true, false])
})

test('one connection has room for the largest message, however small the budget is', () => {
  expect(new HeldMessages(createMessageBudget(MIB, createMetrics())).add(64 * MIB)).toBe(true)
})
