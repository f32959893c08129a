// Golden files: one YAML file per case, named as a sentence in kebab-case: the input, the line "--- # Output", the
// output. UPDATE_GOLDEN=1 rewrites the outputs; otherwise a difference fails the test.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import { stringify } from 'yaml'

const SEPARATOR = '--- # Output\n'

const isUpdate = (): boolean => process.env['UPDATE_GOLDEN'] === '1'

export interface GoldenCase {
  /** The file's name without ".yaml". */
  readonly name: string
  readonly path: string
  /** The text above the separator: one YAML document or several. */
  readonly input: string
}

function readCase(path: string): GoldenCase {
  const text = readFileSync(path, 'utf8')
  const [input = ''] = text.split(SEPARATOR, 1)
  return { name: basename(path, '.yaml'), path, input }
}

/** Returns every case of a folder, sorted by name. Throws if there is none. */
export function goldenCases(folder: string): readonly GoldenCase[] {
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'))
  if (files.length === 0) throw new Error(`no golden files in ${folder}`)
  const misnamed = files.filter((file) => !/^[a-z0-9_][a-z0-9-]*\.yaml$/.test(file))
  if (misnamed.length > 0)
    throw new Error(`golden files are named in kebab-case: ${misnamed.join()}`)
  return files.sort().map((file) => readCase(join(folder, file)))
}

/** Compares the output (plain JSON) with the file, or rewrites the file. */
export function expectGolden(golden: GoldenCase, output: object): void {
  const input = golden.input.endsWith('\n') ? golden.input : `${golden.input}\n`
  const wanted =
    input + SEPARATOR + stringify(output, { lineWidth: 0, aliasDuplicateObjects: false })
  if (isUpdate()) writeFileSync(golden.path, wanted)
  const hint = `${golden.path} is out of date; npm test -- --goldens writes it anew`
  expect(readFileSync(golden.path, 'utf8'), hint).toBe(wanted)
}
