// Runs OpenAI's Python client in a separate process, which asks one question at a time.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { inject } from 'vitest'

import '../envoy.js'

const PROGRAM = resolve(import.meta.dirname, '../python/openai_client.py')

export interface Question {
  /** Path of the guarded route. */
  readonly path: string
  readonly api: 'chat' | 'responses'
  readonly stream: boolean
  readonly prompt: string
}

export interface PythonAnswer {
  /** The text of the answer; with an error, the text before it. */
  readonly text: string
  /** Name of the exception class that the client raised. */
  readonly error?: string
  /** Status of an error response; null if the stream had begun. */
  readonly status?: number | null
}

export interface PythonOpenai {
  ask(question: Question): Promise<PythonAnswer>
  close(): Promise<void>
}

/** @param origin the gateway's origin. */
export function startPythonOpenai(origin: string): PythonOpenai {
  const child = spawn(inject('python'), [PROGRAM, origin], { stdio: ['pipe', 'pipe', 'inherit'] })
  const closed = once(child, 'close')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    ask: async (question) => {
      child.stdin.write(`${JSON.stringify(question)}\n`)
      const line: IteratorResult<string, unknown> = await lines.next()
      if (line.done === true) throw new Error('the Python client ended: see its message above')
      return JSON.parse(line.value) as PythonAnswer
    },
    close: async () => {
      child.stdin.end()
      await closed
    },
  }
}
