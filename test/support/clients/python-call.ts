// Runs the Python client (mcp 2) without a login: lists the tools and calls one.

import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'

import '../envoy.js'

const PROGRAM = resolve(import.meta.dirname, '../python/call_tool.py')

export interface PythonCall {
  readonly tools?: readonly string[]
  /** Text of the result. */
  readonly text?: string
  /** The client's error message. */
  readonly error?: string
}

/**
 * Calls a tool, with arguments that suit echo and get-sum.
 * @param token an access token; absent to send none.
 */
export async function pythonCall(url: string, tool: string, token?: string): Promise<PythonCall> {
  const args = [PROGRAM, url, tool, ...(token === undefined ? [] : [token])]
  const { stdout } = await promisify(execFile)(inject('python'), args)
  return JSON.parse(stdout) as PythonCall
}
