// Reads the official descriptors of .proto files, by file name, from Python packages in .cache.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export interface OfficialDescriptors {
  /** Messages by full name, each with its fields by name. */
  readonly messages: Readonly<Record<string, Readonly<Record<string, OfficialField>>>>
  /** Enums by full name, each with its numbers by value name. */
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>
  /** "package.Service/Method" → request, response, request is a stream, response is a stream. */
  readonly methods: Readonly<Record<string, readonly [string, string, boolean, boolean]>>
}

export interface OfficialField {
  readonly number: number
  /** The type as in a .proto file, but "message" and "enum" for these; a map is a repeated message. */
  readonly type: string
  /** Full name of the message or enum. */
  readonly of: string | null
  readonly repeated: boolean
  readonly oneof: string | null
}

export function officialDescriptors(protos: readonly string[]): OfficialDescriptors {
  const output = execFileSync(
    pythonWithDescriptors(),
    [join(import.meta.dirname, 'descriptors.py')],
    {
      input: protos.join('\n'),
      maxBuffer: 64 * 1024 * 1024,
    },
  )
  return JSON.parse(output.toString()) as OfficialDescriptors
}

function pythonWithDescriptors(): string {
  const folder = resolve(import.meta.dirname, '../../../.cache/descriptors')
  const python = join(folder, 'bin/python')
  const requirements = join(import.meta.dirname, 'requirements.txt')
  const wanted = readFileSync(requirements, 'utf8')
  const mark = join(folder, 'requirements.installed')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return python
  execFileSync('python3', ['-m', 'venv', '--clear', folder])
  execFileSync(python, ['-m', 'pip', 'install', '-q', '--no-deps', '-r', requirements])
  writeFileSync(mark, wanted)
  return python
}
