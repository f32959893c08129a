// gatehouse schema [KIND]: prints the JSON Schema of one kind, or of any document that Gatehouse reads.

import {
  anyEditorSchema,
  editorKinds,
  editorSchema,
} from '../../control/schema/crd/editor-schema.js'
import { similarWord } from '../../kit/similar.js'
import type { Settings } from '../../ops/settings/settings.js'
import type { CommandIo, ExitCode } from './command-io.js'

/** Runs `gatehouse schema`. */
export function schema({ apiGroup, paths }: Settings, io: CommandIo): Promise<ExitCode> {
  const [wanted, more] = paths
  const kinds = editorKinds(apiGroup)
  const kind = kinds.find((each) => each.kind.toLowerCase() === wanted?.toLowerCase())
  if (more !== undefined) return refuse(io, `"${more}" is too much: one kind is expected`)
  if (wanted !== undefined && kind === undefined)
    return refuse(
      io,
      unknownKind(
        wanted,
        kinds.map((each) => each.kind),
      ),
    )
  const json = kind === undefined ? anyEditorSchema(apiGroup) : editorSchema(kind)
  io.out(`${JSON.stringify(json, null, 2)}\n`)
  return Promise.resolve(0)
}

function refuse(io: CommandIo, sentence: string): Promise<ExitCode> {
  io.err(`gatehouse: ${sentence}\n`)
  return Promise.resolve(2)
}

function unknownKind(word: string, names: readonly string[]): string {
  const near = similarWord(word, names)
  const hint =
    near === undefined ? `expected one of ${names.join(', ')}` : `did you mean "${near}"?`
  return `"${word}" is no kind with a schema; ${hint}`
}
