// The sample guardrail webhook of config/guardrail-webhook, as it is built, on loopback.

import { fileURLToPath } from 'node:url'
import { type Program, startProgram } from './program.js'

// The same from src/demo and from dist/demo.
const FILE = fileURLToPath(new URL('../../dist/guardrail-webhook/webhook.js', import.meta.url))

/** Rejects when it does not come up, e.g. because the port is taken. */
export const startGuardrailWebhook = (port: number): Promise<Program> =>
  startProgram({ name: 'guardrail webhook', file: FILE, port })
