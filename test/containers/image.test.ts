// The image as a cluster runs it, on a base with Node and on one without: its size, its contents, and that it needs
// neither root nor a writable file system.

import { execFileSync, spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'

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

const bytesOf = (image: string): number =>
  Number(docker('image', 'inspect', '--format', '{{.Size}}', image))

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

describe.each(['gatehouse', 'gatehouse-bare'])('%s', (image) => {
  const files = filesOf(image)
  const paths = files.map(({ path }) => path)
  const app = paths.filter((path) => path.startsWith('app/'))

  test('adds less than 60 MB to an image with Node', () => {
    const base = process.env['GATEHOUSE_TEST_NODE_IMAGE'] ?? ''
    expect(bytesOf(image) - bytesOf(base)).toBeLessThan(60 * MEGABYTE)
    const own = files.filter(({ path }) => path.startsWith('app/'))
    const bytes = own.reduce((sum, { size }) => sum + size, 0)
    expect(bytes).toBeGreaterThan(MEGABYTE)
    expect(bytes).toBeLessThan(60 * MEGABYTE)
  })

  test('holds one Node, and no package manager of it', () => {
    expect(paths.filter((path) => /(^|\/)(node|gatehouse-node)$/.test(path))).toEqual([
      'usr/local/bin/node',
    ])
    const managers = /(^|\/)npm\/|(^|\/)(npm|npx|yarn|yarnpkg|corepack)$/
    expect(paths.filter((path) => managers.test(path))).toEqual([])
  })

  test('holds no source and nothing for developers', () => {
    expect(app).toContain('app/dist/main.js')
    expect([...new Set(app.map((path) => path.split('/')[1]))].toSorted()).toEqual([
      '',
      'dist',
      'node_modules',
      'package.json',
    ])
    expect(app.filter((path) => /\.([cm]?ts|map|md|tsbuildinfo)$/i.test(path))).toEqual([])
    const tools = /^app\/node_modules\/(typescript|vitest|esbuild|eslint|prettier)\//
    expect(app.filter((path) => tools.test(path))).toEqual([])
  })

  test('runs as uid 1000 if nobody says otherwise', () => {
    expect(docker('image', 'inspect', '--format', '{{.Config.User}}', image)).toBe('1000:1000\n')
    const uid = ['-p', 'process.getuid() + ":" + process.getgid()']
    expect(docker('run', '--rm', '--entrypoint', 'node', image, ...uid)).toBe('1000:1000\n')
  })

  test('runs read-only as uid 1000, without any capability', () => {
    expect(docker('run', ...READ_ONLY, image, '--version')).toMatch(/^gatehouse \d+\.\d+\.\d+\n$/)
  })

  test('says on stderr what it lacks, and ends with 2 for a wrong usage', () => {
    const { status, stderr } = spawnSync('docker', ['run', ...READ_ONLY, image, 'serv'], {
      encoding: 'utf8',
    })
    expect([status, stderr]).toEqual([
      2,
      'gatehouse: "serv" is not a command; did you mean "serve"?\n',
    ])
  })
})
