// Starts the compiled sample guardrail webhook of config/guardrail-webhook on loopback.

import { fileURLToPath } from 'node:url'
import { ownFile } from '../../kit/own-files.js'
import { type Program, startProgram } from './program.js'

const FILE = fileURLToPath(ownFile('dist/guardrail-webhook/webhook.js'))

/** Rejects when it does not start, e.g. because the port is in use. */
export const startGuardrailWebhook = (port: number): Promise<Program> =>
  startProgram({ name: 'guardrail webhook', file: FILE, port })
