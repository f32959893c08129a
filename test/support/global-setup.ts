// Runs once before the integration tests: provides an Envoy, an up-to-date build and Python's MCP client.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { pythonEnvironment } from './python-environment.js'

import './envoy.js'

const ROOT = resolve(import.meta.dirname, '../..')

export async function setup(project: TestProject): Promise<void> {
  build()
  project.provide('envoyPath', await envoy())
  project.provide(
    'python',
    pythonEnvironment('python', join(import.meta.dirname, 'python/requirements.txt')),
  )
}

const SOURCES = ['src', 'proto', 'config/guardrail-webhook']

/** Runs `npm run build` if a source is newer than the build. */
function build(): void {
  const built = newest(join(ROOT, 'dist'))
  if (Math.max(...SOURCES.map((folder) => newest(join(ROOT, folder)))) < built) return
  execFileSync('npm', ['run', 'build'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
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
  const { findEnvoy } = await import('../../src/envoy/find-envoy.js')
  const told = process.env['GATEHOUSE_TEST_ENVOY']
  return findEnvoy(told === undefined ? {} : { explicit: told })
}
