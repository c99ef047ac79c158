// Written by `wink attach opencode`; `wink detach opencode` takes it out. It hands what opencode's tools do to wink.
import { spawn } from "node:child_process"
import { resolve } from "node:path"

const COMMANDS = {}
const ATTEMPTS = 50

function ask(event, payload, directory) {
  return new Promise((done) => {
    const environment = { ...process.env, CLAUDE_PROJECT_DIR: directory, CLAUDE_PID: String(process.pid) }
    let said = "", complaint = ""
    try {
      const hook = spawn("/bin/sh", ["-c", COMMANDS[event]], { cwd: directory, env: environment })
      hook.stdout.on("data", (data) => (said += data))
      hook.stderr.on("data", (data) => (complaint += data))
      hook.on("error", () => done({}))
      hook.on("close", (status) => {
        if (status) return done({ status, reason: complaint.trim() })
        try {
          done(said ? JSON.parse(said) : {})
        } catch {
          done({})
        }
      })
      hook.stdin.on("error", () => {})
      hook.stdin.end(JSON.stringify({ hook_event_name: event, ...payload }))
    } catch {
      done({})
    }
  })
}

export const Wink = async ({ client, directory }) => {
  const parents = new Map()
  const open = new Map()

  // Subagents have sessions of their own: they are told as of the session that the user sees.
  async function whose(session) {
    let subagent = "", top = session
    for (let at = 0; at < ATTEMPTS; at++) {
      if (!parents.has(top)) {
        try {
          const found = await client.session.get({ path: { id: top } })
          parents.set(top, found.data?.parentID ?? "")
        } catch {
          parents.set(top, "")
        }
      }
      if (!parents.get(top)) break
      subagent = session
      top = parents.get(top)
    }
    return { session_id: top, agent_id: subagent, cwd: directory }
  }

  const started = await ask("SessionStart", { cwd: directory }, directory)
  if (started.status === 1) {
    client.app.log({ body: { service: "wink", level: "warn", message: started.reason } }).catch(() => {})
  }

  return {
    "chat.message": async (input, output) => {
      const from = await whose(input.sessionID)
      if (from.agent_id) return
      const texts = output.parts.filter((part) => part.type === "text")
      const prompt = texts.filter((part) => !part.synthetic).map((part) => part.text).join("\n")
      const told = await ask("UserPromptSubmit", { ...from, prompt, turn_id: output.message?.id }, directory)
      const last = texts[texts.length - 1]
      if (told.note && last) output.parts.push({ ...last, id: `${last.id}w`, synthetic: true, text: told.note })
    },
    "tool.execute.before": async (input, output) => {
      const call = { tool_name: input.tool, tool_input: output.args, tool_use_id: input.callID }
      const from = await whose(input.sessionID)
      if (output.args?.workdir) from.cwd = resolve(directory, String(output.args.workdir))
      const told = await ask("PreToolUse", { ...from, ...call }, directory)
      const reason = told.deny ?? (told.status === 2 ? told.reason : "")
      if (reason) throw new Error(reason)
      open.set(input.callID, { ...from, ...call })
    },
    "tool.execute.after": async (input, output) => {
      const call = open.get(input.callID)
      if (!call) return
      open.delete(input.callID)
      await ask("PostToolUse", { ...call, output: output.output, exit: output.metadata?.exit }, directory)
    },
    event: async ({ event }) => {
      const told = event.properties ?? {}
      if (event.type === "session.created" && told.info) parents.set(told.info.id, told.info.parentID ?? "")
      if (event.type === "session.idle") await ask("Stop", await whose(told.sessionID), directory)
      if (event.type === "session.deleted" && told.info) {
        await ask("SessionEnd", { session_id: told.info.id, cwd: directory }, directory)
      }
      // A call that throws, or that a person ends, has no event of its own.
      const part = told.part
      if (event.type === "message.part.updated" && part?.type === "tool" && part.state?.status === "error") {
        const call = open.get(part.callID)
        if (!call) return
        open.delete(part.callID)
        await ask("PostToolUse", { ...call, error: String(part.state.error ?? "it failed") }, directory)
      }
    },
  }
}
