-- job_submit.lua - typical rules of a site, to compare EGS with
--
-- Defaults, limits by account, a partition by the request, refusals with a
-- sentence.

local accounts = {
	fraud = { partitions = "cloud,serve", gpus = 64, hours = 168 },
	["fraud-prod"] = { partitions = "cloud,serve", gpus = 160, hours = 720 },
	vision = { partitions = "cloud", gpus = 480, hours = 168 },
	teaching = { partitions = "cloud", gpus = 8, hours = 24 },
}
local default_account = "fraud"
local default_minutes = 60

local function log(words, ...)
	slurm.log_debug("job_submit: " .. words, ...)
end

local function refuse(words, ...)
	slurm.log_user(string.format(words, ...))
	return slurm.ERROR
end

-- "gres:gpu:a100:2,gres:x:1" -> 2
local function gpus_in(text)
	local sum = 0

	for word in string.gmatch(text or "", "[^,]+") do
		if string.match(word, "gpu") then
			sum = sum + (tonumber(string.match(word, ":(%d+)$")) or 1)
		end
	end
	return sum
end

local function count_gpus(job)
	local nodes = job.min_nodes

	if nodes == slurm.NO_VAL or nodes == nil then
		nodes = 1
	end
	local per_job = gpus_in(job.tres_per_job)
	if per_job > 0 then
		return per_job
	end
	return nodes * gpus_in(job.tres_per_node)
end

local function in_list(list, name)
	for word in string.gmatch(list, "[^,]+") do
		if word == name then
			return true
		end
	end
	return false
end

local function check_partitions(job, rules, name)
	for part in string.gmatch(job.partition or "cloud", "[^,]+") do
		if not in_list(rules.partitions, part) then
			return refuse("account %s may not use partition %s", name, part)
		end
	end
	return slurm.SUCCESS
end

local function set_time(job, rules)
	if job.time_limit == slurm.NO_VAL then
		job.time_limit = default_minutes
		log("time limit of uid %u set to %u", job.user_id, default_minutes)
	end
	if job.time_limit > rules.hours * 60 then
		return refuse("more than %d hours are not possible", rules.hours)
	end
	return slurm.SUCCESS
end

-- Options of other plugins come as variables.
local function read_phase(job)
	local env = job.spank_job_env

	if env == nil then
		return nil
	end
	for i = 0, (job.spank_job_env_size or 0) - 1 do
		local value = string.match(env[i] or "", "phase=(%a+)")
		if value then
			return value
		end
	end
	return nil
end

function slurm_job_submit(job, partitions, uid)
	local name = job.account or default_account
	local rules = accounts[name]
	local gpus = count_gpus(job)

	if rules == nil then
		return refuse("account %s has no rules", name)
	end
	if gpus > rules.gpus then
		return refuse("account %s has %d GPUs at most, %d are asked for",
			name, rules.gpus, gpus)
	end
	if check_partitions(job, rules, name) ~= slurm.SUCCESS then
		return slurm.ERROR
	end
	if set_time(job, rules) ~= slurm.SUCCESS then
		return slurm.ERROR
	end
	if read_phase(job) == "prep" and gpus > 0 then
		return refuse("this phase holds no GPUs")
	end
	if gpus > 0 and job.cpus_per_task == slurm.NO_VAL16 then
		log("uid %u asks for %d GPUs", uid, gpus)
	end
	job.admin_comment = string.format("phase=%s", read_phase(job) or "none")
	return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
	return slurm.SUCCESS
end

return slurm.SUCCESS
