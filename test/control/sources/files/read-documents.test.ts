// A path may hold something else when it is read than when it was found.

import { execFileSync } from 'node:child_process'
import { appendFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import { readDocuments } from '../../../../src/control/sources/files/read-documents.js'
import { temporaryFolder } from '../../../support/program.js'
import { API_GROUP } from '../../../support/resources.js'

const MAX_BYTES = 32 * 1024 * 1024

let path: string

beforeEach(async () => {
  path = join(await temporaryFolder(), 'a.yaml')
})

const read = () => readDocuments({ path, size: 1 }, kindsOf(API_GROUP), new Map())

test('a pipe that has taken the place of a file is not waited for', () => {
  execFileSync('mkfifo', [path])
  expect(read()).toEqual({ type: 'broken', message: 'is not a regular file' })
})

test('of a device that has taken its place nothing is read', () => {
  symlinkSync('/dev/zero', path)
  expect(read()).toEqual({ type: 'broken', message: 'is not a regular file' })
})

test('a file that has grown beyond what may be read is named as too large', () => {
  writeFileSync(path, Buffer.alloc(MAX_BYTES, '#'))
  expect(read()).toEqual({ type: 'documents', documents: [] })
  appendFileSync(path, '#'.repeat(1_000_000))
  expect(read()).toEqual({ type: 'broken', message: `is larger than ${MAX_BYTES} bytes` })
})

test('a file of unknown size is read to its end', () => {
  symlinkSync('/proc/self/status', path)
  expect(read()).toMatchObject({ type: 'documents', documents: [{ line: 1 }] })
})
