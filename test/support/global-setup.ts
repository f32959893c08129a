// Runs once before the integration tests: provides an Envoy, an up-to-date build and Python's MCP client. Removes what it
// made for them when they have run.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { pythonEnvironment } from './python-environment.js'
import { provideSharedProcesses } from './shared-processes.js'

import './envoy.js'

const ROOT = resolve(import.meta.dirname, '../..')

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  build()
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-envoy-of-tests-'))
  project.provide('envoyPath', quickLogs(await envoy(), folder))
  project.provide(
    'python',
    pythonEnvironment('python', join(import.meta.dirname, 'python/requirements.txt')),
  )
  const endShared = provideSharedProcesses(project)
  return async () => {
    await endShared()
    rmSync(folder, { recursive: true, force: true })
  }
}

const SOURCES = ['src', 'proto', 'config/guardrail-webhook']

/** Builds if a source is newer than the build. */
function build(): void {
  const built = newest(join(ROOT, 'dist'))
  if (Math.max(...SOURCES.map((folder) => newest(join(ROOT, folder)))) < built) return
  execFileSync(process.execPath, ['scripts/build.mjs'], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

/** Returns the latest modification time of a file below a folder, in milliseconds since the epoch. */
function newest(folder: string): number {
  if (!existsSync(folder)) return 0
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('generated'))
    .reduce((last, { parentPath, name }) => {
      return Math.max(last, statSync(join(parentPath, name)).mtimeMs)
    }, 0)
}

async function envoy(): Promise<string> {
  const { findEnvoy } = await import('../../src/cli/run-envoy/find-envoy.js')
  const told = process.env['GATEHOUSE_TEST_ENVOY']
  return findEnvoy(told === undefined ? {} : { explicit: told })
}

/** Returns the path of a program in the folder: the Envoy, which writes its access logs every 100 ms instead of 10 s. */
function quickLogs(program: string, folder: string): string {
  const path = join(folder, 'envoy')
  const lines = ['#!/bin/sh', `exec "${program}" --file-flush-interval-msec 100 "$@"`]
  writeFileSync(path, `${lines.join('\n')}\n`, { mode: 0o755 })
  return path
}
