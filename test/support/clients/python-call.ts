// The Python client (mcp 2) without a login: the tools that it is shown, and what it sees of a call of one.

import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'

import '../envoy.js'

const PROGRAM = resolve(import.meta.dirname, '../python/call_tool.py')

export interface PythonCall {
  readonly tools?: readonly string[]
  /** Of the result. */
  readonly text?: string
  /** As the client says it. */
  readonly error?: string
}

/** The arguments fit the tools echo and get-sum. token: an access token; absent: none is sent. */
export async function pythonCall(url: string, tool: string, token?: string): Promise<PythonCall> {
  const args = [PROGRAM, url, tool, ...(token === undefined ? [] : [token])]
  const { stdout } = await promisify(execFile)(inject('python'), args)
  return JSON.parse(stdout) as PythonCall
}
