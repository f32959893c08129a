// Starts the compiled sample guardrail webhook of config/guardrail-webhook on loopback.

import { fileURLToPath } from 'node:url'
import { type Program, startProgram } from './program.js'

// Resolves to the same file from src/demo and from dist/demo.
const FILE = fileURLToPath(new URL('../../dist/guardrail-webhook/webhook.js', import.meta.url))

/** Rejects when it does not start, e.g. because the port is in use. */
export const startGuardrailWebhook = (port: number): Promise<Program> =>
  startProgram({ name: 'guardrail webhook', file: FILE, port })
