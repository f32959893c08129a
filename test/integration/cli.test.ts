// The built program as a shell sees it: results on stdout, everything else on stderr, exit codes 0, 1 and 2.

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

function gatehouse(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/main.js', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return { status, stdout, stderr }
}

test('--version and help are results', () => {
  const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as {
    version: string
  }
  expect(gatehouse('--version')).toEqual({
    status: 0,
    stdout: `gatehouse ${version}\n`,
    stderr: '',
  })
  expect(gatehouse('help')).toMatchObject({ status: 0, stderr: '' })
  expect(gatehouse('check', '--help').stdout).toContain('Usage: gatehouse check PATH...')
})

test('wrong usage is a sentence on stderr and exit code 2', () => {
  expect(gatehouse('chekc')).toEqual({
    status: 2,
    stdout: '',
    stderr: 'gatehouse: "chekc" is not a command; did you mean "check"?\n',
  })
  expect(gatehouse()).toMatchObject({ status: 2, stdout: '' })
  expect(gatehouse('serve')).toMatchObject({ status: 2, stdout: '' })
  expect(gatehouse('bootstrap', '--grpc', 'x')).toMatchObject({ status: 2, stdout: '' })
})

test('a missing cluster is a sentence on stderr and exit code 1', () => {
  const environment = { ...process.env, HOME: '/nonexistent', KUBECONFIG: '' }
  const { status, stderr } = spawnSync(
    process.execPath,
    ['dist/main.js', 'serve', '--kubernetes'],
    { cwd: ROOT, encoding: 'utf8', env: environment, timeout: 20_000 },
  )
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'gatehouse: no API server is configured: set KUBECONFIG, or run in a pod\n',
  })
})

test('wrong input is exit code 1', () => {
  expect(gatehouse('check', '/nonexistent')).toMatchObject({ status: 1, stderr: '' })
  expect(gatehouse('translate', '/nonexistent')).toMatchObject({ status: 1, stdout: '' })
})

test('good input is exit code 0: the demo’s resources', () => {
  expect(gatehouse('check', 'config/demo')).toMatchObject({ status: 0, stderr: '' })
  expect(gatehouse('translate', 'config/demo')).toMatchObject({ status: 0, stderr: '' })
  expect(gatehouse('crds')).toMatchObject({ status: 0, stderr: '' })
  expect(gatehouse('bootstrap')).toMatchObject({ status: 0, stderr: '' })
})

test('a reader that has had enough ends it without a word', () => {
  const command = `"${process.execPath}" dist/main.js translate config/demo | head -c 1`
  const { stdout, stderr } = spawnSync('sh', ['-c', command], { cwd: ROOT, encoding: 'utf8' })
  expect([stdout, stderr]).toEqual(['s', ''])
})
