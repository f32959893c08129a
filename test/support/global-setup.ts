// Once before the integration tests: an Envoy, a build that is not older than the sources, Python's MCP client.

import { execFileSync, type StdioOptions } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import './envoy.js'

const ROOT = resolve(import.meta.dirname, '../..')

export async function setup(project: TestProject): Promise<void> {
  build()
  project.provide('envoyPath', await envoy())
  project.provide('python', pythonEnvironment())
}

/** `npm run build`, when something in src or proto is newer than what was built. */
function build(): void {
  const built = newest(join(ROOT, 'dist'))
  if (Math.max(newest(join(ROOT, 'src')), newest(join(ROOT, 'proto'))) < built) return
  execFileSync('npm', ['run', 'build'], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Milliseconds since the epoch of the last change of a file below a folder. */
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

/** A virtual environment below .cache with python/requirements.txt; made anew when that file changes. */
export function pythonEnvironment(): string {
  const folder = join(ROOT, '.cache/python')
  const python = join(folder, 'bin/python')
  const requirements = join(import.meta.dirname, 'python/requirements.txt')
  const wanted = readFileSync(requirements, 'utf8')
  const mark = join(folder, 'requirements.installed')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return python
  const options = { stdio: ['ignore', 'ignore', 'inherit'] as StdioOptions }
  execFileSync('python3', ['-m', 'venv', '--clear', folder], options)
  execFileSync(python, ['-m', 'pip', 'install', '-q', '-r', requirements], options)
  writeFileSync(mark, wanted)
  return python
}
