// Checks that exported names have doc comments, and that every doc comment begins with what the thing is or does.

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = resolve(import.meta.dirname, '../src')
const EXPORT = /^export (?:async |abstract )?(?:const|function|interface|type|class|enum) (\w+)/

const files = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name).slice(SRC.length + 1))
  .filter((path) => !path.startsWith('grpc/generated/'))

function withoutComment(path: string): readonly string[] {
  const lines = readFileSync(join(SRC, path), 'utf8').split('\n')
  return lines.flatMap((line, index) => {
    const name = EXPORT.exec(line)?.[1]
    return name === undefined || lines[index - 1]?.endsWith('*/') === true ? [] : [name]
  })
}

test('every exported name of src has a doc comment', () => {
  const missing = files.flatMap((path) => withoutComment(path).map((name) => `${path}: ${name}`))
  expect(missing).toEqual([])
})

/** Beginnings of comments that leave their subject to the reader. */
const HEADLESS = /^\s*\/\*\* (?:Of|That|As that|At once|Why not)\b/

test('every doc comment of src, test and testing begins with what the thing is or does', () => {
  const tests = [import.meta.dirname, resolve(import.meta.dirname, '../testing')]
    .flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('/node_modules/'))
  const headless = [...files.map((path) => join(SRC, path)), ...tests].flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => HEADLESS.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  )
  expect(headless).toEqual([])
})
