// The image as a cluster runs it: its size, its contents, and that it needs neither root nor a writable file system.

import { execFileSync, spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const docker = (...args: readonly string[]): string =>
  execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

const MEGABYTE = 1_000_000

interface ImageFile {
  /** Without a slash before it. */
  readonly path: string
  /** Bytes. */
  readonly size: number
}

function filesOf(image: string): readonly ImageFile[] {
  const id = docker('create', image).trim()
  try {
    const list = execFileSync('sh', ['-c', `docker export ${id} | tar -tv`], {
      encoding: 'utf8',
      maxBuffer: 64 * MEGABYTE,
    })
    return list
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [, , size = '', , , path = ''] = line.split(/\s+/)
        return { path, size: Number(size) }
      })
  } finally {
    docker('rm', id)
  }
}

const files = filesOf('gatehouse')
const paths = files.map(({ path }) => path)
const app = paths.filter((path) => path.startsWith('app/'))

test('adds less than 60 MB to Node and its base', () => {
  const own = files.filter(({ path }) => path.startsWith('app/'))
  const bytes = own.reduce((sum, { size }) => sum + size, 0)
  expect(bytes).toBeGreaterThan(MEGABYTE)
  expect(bytes).toBeLessThan(60 * MEGABYTE)
})

test('holds no package manager of Node', () => {
  const managers = /(^|\/)npm\/|(^|\/)(npm|npx|yarn|corepack)$/
  expect(paths.filter((path) => managers.test(path))).toEqual([])
})

test('holds no source and nothing for developers', () => {
  expect(app).toContain('app/dist/main.js')
  expect(app.filter((path) => /^app\/(src|test|scripts|bench)\/|\.(ts|map)$/.test(path))).toEqual(
    [],
  )
  const tools = /^app\/node_modules\/(typescript|vitest|esbuild|eslint|prettier)\//
  expect(app.filter((path) => tools.test(path))).toEqual([])
})

const READ_ONLY = [
  '--rm',
  '--read-only',
  '--user',
  '1000:1000',
  '--cap-drop',
  'ALL',
  '--network',
  'none',
]

test('runs read-only as uid 1000, without any capability', () => {
  expect(docker('run', ...READ_ONLY, 'gatehouse', '--version')).toMatch(
    /^gatehouse \d+\.\d+\.\d+\n$/,
  )
})

test('says on stderr what it lacks, and ends with 2 for a wrong usage', () => {
  const { status, stderr } = spawnSync('docker', ['run', ...READ_ONLY, 'gatehouse', 'serv'], {
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([
    2,
    'gatehouse: "serv" is not a command; did you mean "serve"?\n',
  ])
})
