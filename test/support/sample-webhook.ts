// Starts the sample webhooks of config/guardrail-webhook as a user would.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { pythonEnvironment } from './python-environment.js'

const ROOT = resolve(import.meta.dirname, '../..')
const FASTAPI = join(ROOT, 'config/guardrail-webhook/fastapi')
export const SAMPLE_WEBHOOK = join(ROOT, 'dist/guardrail-webhook/webhook.js')

export interface SampleWebhook {
  readonly origin: string
  readonly host: string
  readonly port: number
  close(): Promise<void>
}

/** Starts the built config/guardrail-webhook/webhook.ts. */
export async function startNodeWebhook(
  environment: Readonly<Record<string, string>> = {},
): Promise<SampleWebhook> {
  const port = await freePort()
  const child = spawn(process.execPath, [SAMPLE_WEBHOOK, String(port)], {
    env: environment,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return serving(child, port)
}

/** Starts config/guardrail-webhook/fastapi/main.py with the packages of its requirements.txt. */
export async function startFastApiWebhook(): Promise<SampleWebhook> {
  const python = pythonEnvironment('fastapi', join(FASTAPI, 'requirements.txt'))
  const port = await freePort()
  const uvicorn = ['-m', 'uvicorn', 'main:app', '--port', String(port), '--log-level', 'warning']
  const child = spawn(python, uvicorn, {
    cwd: FASTAPI,
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return serving(child, port)
}

async function serving(child: ChildProcess, port: number): Promise<SampleWebhook> {
  const origin = `http://127.0.0.1:${String(port)}`
  await eventually(() => fetch(origin), 30_000)
  return {
    origin,
    host: '127.0.0.1',
    port,
    close: async () => {
      if (child.exitCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
