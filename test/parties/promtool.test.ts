// The alerts of deploy/prometheus evaluated by Prometheus: promtool runs the series of prometheus/rules.yaml.

import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const FOLDER = resolve(import.meta.dirname, 'prometheus')
const RULES = resolve(import.meta.dirname, '../../deploy/prometheus/gatehouse-rules.yaml')

function promtool(...args: readonly string[]): {
  readonly printed: string
  readonly code: unknown
} {
  const program = process.env['GATEHOUSE_TEST_PROMTOOL'] ?? 'promtool'
  const { stdout, stderr, status, error } = spawnSync(program, args, {
    cwd: FOLDER,
    encoding: 'utf8',
  })
  if (error !== undefined) throw error
  return { printed: stdout + stderr, code: status }
}

test('Prometheus takes the rules', () => {
  expect(promtool('check', 'rules', '--lint-fatal', RULES)).toMatchObject({ code: 0 })
})

test('each alert fires when it should, and no other does', () => {
  const { printed, code } = promtool('test', 'rules', 'rules.yaml')
  expect(code, printed).toBe(0)
})
