// Writes the help texts from the tables of commands and flags.

import { type CommandName, commandNames, COMMANDS } from './commands.js'
import { type FlagKey, flagName, FLAGS, flagsOf, variableName } from './flags.js'

/** Help text of the program. */
export function overview(): string {
  const width = Math.max(...commandNames.map((name) => name.length)) + 2
  return [
    'Gatehouse makes an Envoy gateway safe for MCP servers and LLM traffic: it checks tokens, serves the',
    'OAuth documents that MCP clients ask for, has guardrail webhooks see prompts and replies, and',
    'configures Envoy from declarative resources.',
    '',
    'Usage: gatehouse COMMAND [FLAGS]',
    '',
    'Commands:',
    ...commandNames.map((name) => `  ${name.padEnd(width)}${COMMANDS[name].summary}`),
    '',
    '"gatehouse help COMMAND" or "gatehouse COMMAND --help" explains one. "gatehouse --version" prints the version.',
    'Every flag can also be set in the environment: --envoy-admin is GATEHOUSE_ENVOY_ADMIN. A flag wins.',
    'Exit codes: 0 fine, 1 the input is wrong or something failed, 2 the usage is wrong.',
    '',
  ].join('\n')
}

/** Help text of a command. */
export function commandHelp(command: CommandName): string {
  const text = COMMANDS[command]
  return [
    `gatehouse ${command}: ${text.summary}`,
    '',
    `Usage: gatehouse ${command}${text.operands === undefined ? '' : ` ${text.operands}`} [FLAGS]`,
    '',
    text.about,
    '',
    'Flags:',
    ...flagsOf(command).flatMap(flagHelp),
    '',
    'Examples:',
    ...text.examples.map((example) => `  ${example}`),
    '',
  ].join('\n')
}

function flagHelp(key: FlagKey): readonly string[] {
  const flag = FLAGS[key]
  const preset = flag.value === undefined || flag.default === undefined ? '' : ` [${flag.default}]`
  const value = flag.value === undefined ? '' : ` ${flag.value}`
  return [
    `  --${flagName(key)}${value}`,
    ...wrap(`${flag.meaning}${preset} (${variableName(key)})`, 90).map((line) => `      ${line}`),
  ]
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || last.length + word.length >= width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines
}
