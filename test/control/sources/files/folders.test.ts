// Folders and links that are added, removed and replaced, and systems whose watchers stop working.

import { execFileSync } from 'node:child_process'
import {
  type FSWatcher,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  watch as watchFolder,
  writeFileSync,
} from 'node:fs'
import { describe, expect, it } from 'vitest'
import { at, backend, hasPorts, messages, ports, useFolder, watch } from './watched-folder.js'

useFolder()

describe('folders and links', () => {
  it('watches new folders, also those within them', async () => {
    const running = await watch()
    mkdirSync(at('x', 'y'), { recursive: true })
    writeFileSync(at('x', 'y', 'a.yaml'), backend('a'))
    await running.until(hasPorts({ a: 80 }))
    writeFileSync(at('x', 'y', 'a.yaml'), backend('a', 81))
    await running.until(hasPorts({ a: 81 }))
  })

  it('is not held up by a pipe in the folder', async () => {
    execFileSync('mkfifo', [at('pipe.yaml')])
    writeFileSync(at('z.yaml'), backend('a'))
    const running = await watch()
    await running.until(hasPorts({ a: 80 }))
  })

  it('takes out what was in a deleted folder', async () => {
    mkdirSync(at('x'))
    writeFileSync(at('x', 'a.yaml'), backend('a'))
    writeFileSync(at('b.yaml'), backend('b'))
    const running = await watch()
    rmSync(at('x'), { recursive: true })
    await running.until(hasPorts({ b: 80 }))
  })

  it('follows a folder that is replaced by another of its name', async () => {
    mkdirSync(at('x'))
    mkdirSync(at('y'))
    writeFileSync(at('x', 'a.yaml'), backend('a'))
    writeFileSync(at('y', 'a.yaml'), backend('a', 81))
    const running = await watch([at('x')])
    renameSync(at('x'), at('z'))
    renameSync(at('y'), at('x'))
    await running.until(hasPorts({ a: 81 }))
    writeFileSync(at('x', 'a.yaml'), backend('a', 82))
    await running.until(hasPorts({ a: 82 }))
  })

  it('keeps the resources of a named folder that vanishes, and follows it when it is back', async () => {
    mkdirSync(at('x'))
    writeFileSync(at('x', 'a.yaml'), backend('a'))
    const running = await watch([at('x')])
    renameSync(at('x'), at('gone'))
    const without = await running.until(({ problems }) => problems.length > 0)
    expect(ports(without)).toEqual({ a: 80 })
    expect(messages(without)).toEqual([`${at('x')} no such file or folder`])
    mkdirSync(at('x'))
    writeFileSync(at('x', 'a.yaml'), backend('a', 81))
    const back = await running.until(hasPorts({ a: 81 }))
    expect(back.problems).toEqual([])
  })

  it('takes out the resources of a named file that is deleted', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch([at('a.yaml')])
    unlinkSync(at('a.yaml'))
    const without = await running.until(hasPorts({}))
    expect(messages(without)).toEqual([`${at('a.yaml')} no such file`])
    writeFileSync(at('a.yaml'), backend('a', 81))
    await running.until(hasPorts({ a: 81 }))
  })

  it.each(['mount', 'mount/a.yaml'])(
    'sees a ConfigMap volume swap its folders below %s',
    async (named) => {
      mkdirSync(at('mount', '..1'), { recursive: true })
      mkdirSync(at('mount', '..2'))
      writeFileSync(at('mount', '..1', 'a.yaml'), backend('a'))
      writeFileSync(at('mount', '..2', 'a.yaml'), backend('a', 81))
      symlinkSync('..1', at('mount', '..data'))
      symlinkSync('..data/a.yaml', at('mount', 'a.yaml'))
      const running = await watch([at(named)])
      expect(ports(running.state)).toEqual({ a: 80 })
      symlinkSync('..2', at('mount', '..data_tmp'))
      renameSync(at('mount', '..data_tmp'), at('mount', '..data'))
      rmSync(at('mount', '..1'), { recursive: true })
      await running.until(hasPorts({ a: 81 }))
      expect(running.states).toHaveLength(2)
    },
  )

  it.each(['current/config', 'current/config/a.yaml'])(
    'sees a release swapped by a link on the way to %s',
    async (named) => {
      mkdirSync(at('releases', '1', 'config'), { recursive: true })
      mkdirSync(at('releases', '2', 'config'), { recursive: true })
      writeFileSync(at('releases', '1', 'config', 'a.yaml'), backend('a'))
      writeFileSync(at('releases', '2', 'config', 'a.yaml'), backend('a', 81))
      symlinkSync('releases/1', at('current'))
      const running = await watch([at(named)])
      expect(ports(running.state)).toEqual({ a: 80 })
      symlinkSync('releases/2', at('next'))
      renameSync(at('next'), at('current'))
      await running.until(hasPorts({ a: 81 }))
      writeFileSync(at('releases', '2', 'config', 'a.yaml'), backend('a', 82))
      await running.until(hasPorts({ a: 82 }))
    },
  )

  it('follows a link upwards from within a folder that is a link', async () => {
    mkdirSync(at('releases', '1', 'config'), { recursive: true })
    writeFileSync(at('releases', 'a.yaml'), backend('a'))
    symlinkSync('releases/1', at('current'))
    symlinkSync('../../a.yaml', at('releases', '1', 'config', 'a.yaml'))
    const running = await watch([at('current', 'config')])
    expect(ports(running.state)).toEqual({ a: 80 })
    writeFileSync(at('releases', 'new'), backend('a', 81))
    renameSync(at('releases', 'new'), at('releases', 'a.yaml'))
    await running.until(hasPorts({ a: 81 }))
  })

  it('sees that the folder around the named one was replaced', async () => {
    mkdirSync(at('app', 'config'), { recursive: true })
    mkdirSync(at('next', 'config'), { recursive: true })
    writeFileSync(at('app', 'config', 'a.yaml'), backend('a'))
    writeFileSync(at('next', 'config', 'a.yaml'), backend('a', 81))
    const running = await watch([at('app', 'config')])
    renameSync(at('app'), at('before'))
    renameSync(at('next'), at('app'))
    await running.until(hasPorts({ a: 81 }))
  })

  it('sees a change of a file that is linked to from elsewhere', async () => {
    mkdirSync(at('x'))
    mkdirSync(at('y'))
    writeFileSync(at('y', 'a.yaml'), backend('a'))
    symlinkSync(at('y', 'a.yaml'), at('x', 'a.yaml'))
    const running = await watch([at('x')])
    writeFileSync(at('y', 'a.yaml'), backend('a', 81))
    await running.until(hasPorts({ a: 81 }))
  })

  it('leaves everything as it was while there are more files than it reads', async () => {
    for (let file = 1; file < 50; file++) writeFileSync(at(`f${file}.yaml`), '')
    writeFileSync(at('z.yaml'), backend('z'))
    const running = await watch([at()], { maxFiles: 50 })
    expect(ports(running.state)).toEqual({ z: 80 })
    writeFileSync(at('a.yaml'), backend('a'))
    const full = await running.until(({ problems }) => problems.length > 0)
    expect(ports(full)).toEqual({ z: 80 })
    expect(messages(full)).toEqual([
      `${at()} has more than 50 files: nothing is read until there are fewer`,
    ])
    unlinkSync(at('f1.yaml'))
    await running.until(hasPorts({ a: 80, z: 80 }))
  })

  it('is not caught in a link that leads back', async () => {
    mkdirSync(at('x'))
    symlinkSync('..', at('x', 'up'))
    writeFileSync(at('x', 'a.yaml'), backend('a'))
    const running = await watch()
    expect(ports(running.state)).toEqual({ a: 80 })
    expect(running.state.problems).toEqual([])
  })
})

describe('a system whose watches have stopped', () => {
  const noSpace = () => Object.assign(new Error('no more watches'), { code: 'ENOSPC' })

  it('is polled, with one warning per folder', async () => {
    writeFileSync(at('a.yaml'), backend('a'))
    const running = await watch([at()], {
      watch: () => {
        throw noSpace()
      },
    })
    writeFileSync(at('a.yaml'), backend('a', 81))
    await running.until(hasPorts({ a: 81 }))
    writeFileSync(at('a.yaml'), backend('a', 82))
    await running.until(hasPorts({ a: 82 }))
    expect(running.warnings.filter((warning) => warning.startsWith(at()))).toEqual([
      `${at()} cannot be watched (ENOSPC): it is polled instead`,
    ])
  })

  it('is polled from when a watcher breaks', async () => {
    const watchers: FSWatcher[] = []
    const running = await watch([at()], {
      watch: (path) => {
        if (watchers.length > 1) throw noSpace()
        const watcher = watchFolder(path)
        watchers.push(watcher)
        return watcher
      },
    })
    for (const watcher of watchers) watcher.emit('error', noSpace())
    writeFileSync(at('a.yaml'), backend('a'))
    await running.until(hasPorts({ a: 80 }))
  })
})

it('reports nothing after it was closed', async () => {
  const running = await watch()
  writeFileSync(at('a.yaml'), backend('a'))
  await running.provider.close()
  const { length } = running.states
  const other = await watch()
  await other.until(hasPorts({ a: 80 }))
  expect(running.states).toHaveLength(length)
})
