// OpenAI's Python client in a process of its own, which asks one question after the other.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { inject } from 'vitest'

import '../envoy.js'

const PROGRAM = resolve(import.meta.dirname, '../python/openai_client.py')

export interface Question {
  /** Of the guarded route. */
  readonly path: string
  readonly api: 'chat' | 'responses'
  readonly stream: boolean
  readonly prompt: string
}

export interface PythonAnswer {
  /** With an error: what came before it. */
  readonly text: string
  /** The class that the client raised. */
  readonly error?: string
  /** null: none, the stream had begun. */
  readonly status?: number | null
}

export interface PythonOpenai {
  ask(question: Question): Promise<PythonAnswer>
  close(): Promise<void>
}

/** origin: the gateway's. */
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
