// One changed file among thousands: what is examined and read, and what happens to changes that no watcher reports.

import type * as fsType from 'node:fs'
import {
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  watch as watchFolder,
  writeFileSync,
} from 'node:fs'
import type * as promisesType from 'node:fs/promises'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { at, backend, hasPorts, ports, useFolder, watch } from './watched-folder.js'

useFolder()

const looks = vi.hoisted(() => ({ stats: [] as string[], reads: [] as string[] }))

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof fsType>()
  const lstat = (...args: Parameters<typeof fs.lstat>): void => {
    looks.stats.push(String(args[0]))
    fs.lstat(...args)
  }
  const openSync = (...args: Parameters<typeof fs.openSync>): number => {
    looks.reads.push(String(args[0]))
    return fs.openSync(...args)
  }
  return { ...fs, lstat, openSync }
})

vi.mock('node:fs/promises', async (original) => {
  const fs = await original<typeof promisesType>()
  return {
    ...fs,
    lstat: (...args: Parameters<typeof fs.lstat>) => {
      looks.stats.push(String(args[0]))
      return fs.lstat(...args)
    },
  }
})

const COUNT = 500

beforeEach(() => {
  for (let index = 0; index < COUNT; index += 1)
    writeFileSync(at(`${String(index)}.yaml`), backend(`b${String(index)}`, 80))
})

function replace(name: string, text: string): void {
  writeFileSync(at(`${name}.draft`), text)
  renameSync(at(`${name}.draft`), at(name))
}

function forgetLooks(): void {
  looks.stats.length = 0
  looks.reads.length = 0
}

const port = (name: string, expected?: number) => (state: Parameters<typeof ports>[0]) =>
  ports(state)[name] === expected

describe('one change among many files', () => {
  it('looks at the file that changed, and reads that one', async () => {
    const running = await watch()
    expect(new Set(looks.stats).size).toBe(COUNT)
    forgetLooks()
    replace('7.yaml', backend('b7', 81))
    await running.until(port('b7', 81))
    expect(looks.reads).toEqual([at('7.yaml')])
    expect(new Set(looks.stats)).toEqual(new Set([at('7.yaml'), at('7.yaml.draft')]))
  })

  it('waits for no more readers than files have changed', async () => {
    const running = await watch()
    const all = vi.spyOn(Promise, 'all')
    replace('7.yaml', backend('b7', 81))
    await running.until(port('b7', 81))
    const waits = all.mock.calls.map(([waited]) => [...(waited as Iterable<unknown>)].length)
    all.mockRestore()
    expect(Math.max(...waits)).toBeLessThan(10)
  })

  it('leaves the resources of all others the same objects', async () => {
    const running = await watch()
    const before = running.state.resources.proxyBackends
    replace('7.yaml', backend('b7', 81))
    const { resources } = await running.until(port('b7', 81))
    const changed = resources.proxyBackends.filter((each, index) => each !== before[index])
    expect(changed.map(({ metadata }) => metadata.name)).toEqual(['b7'])
    expect(resources.gateways).toBe(running.states[0]?.resources.gateways)
  })

  it('sees a file that is new and one that is gone', async () => {
    const running = await watch()
    forgetLooks()
    replace('new.yaml', backend('new'))
    await running.until(port('new', 80))
    unlinkSync(at('3.yaml'))
    await running.until(port('b3'))
    expect(looks.stats.length).toBeLessThan(COUNT)
  })

  it('walks when more names come than one would look at', async () => {
    const running = await watch()
    forgetLooks()
    for (let index = 0; index < 100; index += 1)
      replace(`${String(index)}.yaml`, backend(`b${String(index)}`, 81))
    await running.until(
      (state) => Object.values(ports(state)).filter((p) => p === 81).length === 100,
    )
    expect(looks.stats.length).toBeGreaterThanOrEqual(COUNT)
  })

  it('walks for a folder, a link and what a link leads to', async () => {
    mkdirSync(at('real'))
    writeFileSync(at('real', 'x.yaml'), backend('x'))
    symlinkSync(at('real', 'x.yaml'), at('link.yaml'))
    const running = await watch([at('link.yaml'), at('real')])
    replace('real/x.yaml', backend('x', 82))
    await running.until(hasPorts({ x: 82 }))
    mkdirSync(at('real', 'more'))
    writeFileSync(at('real', 'more', 'y.yaml'), backend('y'))
    await running.until(hasPorts({ x: 82, y: 80 }))
    rmSync(at('real', 'more'), { recursive: true })
    await running.until(hasPorts({ x: 82 }))
  })

  it('takes a hard link that comes and goes for a file', async () => {
    const running = await watch()
    writeFileSync(at('draft'), backend('linked'))
    linkSync(at('draft'), at('linked.yaml'))
    await running.until(port('linked', 80))
    unlinkSync(at('linked.yaml'))
    await running.until(port('linked'))
  })
})

describe('a change that no watcher reported', () => {
  it('is found by a walk some time after any other change', async () => {
    const running = await watch(undefined, {
      walkAfter: 100,
      watch: (folder) => {
        const watcher = watchFolder(folder)
        const emit = watcher.emit.bind(watcher)
        watcher.emit = (event: string, ...args: unknown[]) =>
          event === 'change' && args[1] === 'silent.yaml' ? true : emit(event, ...args)
        return watcher
      },
    })
    writeFileSync(at('silent.yaml'), backend('silent'))
    replace('7.yaml', backend('b7', 81))
    const before = await running.until(port('b7', 81))
    expect(ports(before)['silent']).toBeUndefined()
    await running.until(port('silent', 80))
  })
})
